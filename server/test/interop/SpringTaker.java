/**
 * A back end with Spring Data JPA on Hibernate. Reads lines from its input. For a number it saves
 * so many orders. After "=" stand ids of orders that a device has made. After "insert", "save",
 * "saveAssigned" and "saveNew" stand such ids, too, and it prints what becomes of them. The last
 * three are for `save` of a repository: of orders, whose ids Hibernate makes; of labels, whose ids
 * are assigned; and of labels that also say that they are new. Prints a dot when it is done.
 * Argument: JDBC URL. It makes the schema.
 */
import jakarta.persistence.Entity;
import jakarta.persistence.EntityManager;
import jakarta.persistence.EntityManagerFactory;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.PersistenceContext;
import jakarta.persistence.SequenceGenerator;
import jakarta.persistence.Table;
import java.util.Map;
import java.util.Scanner;
import java.util.function.Supplier;
import org.hibernate.ReplicationMode;
import org.hibernate.Session;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.data.domain.Persistable;
import org.springframework.data.jpa.repository.JpaRepository;
import org.springframework.data.jpa.repository.config.EnableJpaRepositories;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.orm.jpa.JpaTransactionManager;
import org.springframework.orm.jpa.LocalContainerEntityManagerFactoryBean;
import org.springframework.orm.jpa.persistenceunit.PersistenceManagedTypes;
import org.springframework.orm.jpa.vendor.HibernateJpaVendorAdapter;
import org.springframework.transaction.PlatformTransactionManager;
import org.springframework.transaction.annotation.EnableTransactionManagement;
import org.springframework.transaction.annotation.Transactional;

public class SpringTaker {
  @Entity(name = "Order")
  @Table(name = "orders")
  public static class Order {
    @Id
    @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "ids")
    @SequenceGenerator(name = "ids", sequenceName = "order_seq", allocationSize = 10)
    Long id;
  }

  @Entity
  public static class Label {
    @Id Long id;
  }

  @Entity
  public static class NewLabel implements Persistable<Long> {
    @Id Long id;
    public Long getId() { return id; }
    public boolean isNew() { return true; }
  }

  public interface Labels extends JpaRepository<Label, Long> {}

  public interface NewLabels extends JpaRepository<NewLabel, Long> {}

  public interface Orders extends JpaRepository<Order, Long>, GivenOrders {}

  /** What a repository has besides what Spring makes. */
  public interface GivenOrders {
    void insert(Order order);
  }

  public static class GivenOrdersImpl implements GivenOrders {
    @PersistenceContext
    private EntityManager entityManager;

    @Override
    @Transactional
    public void insert(Order order) {
      entityManager.unwrap(Session.class).replicate(order, ReplicationMode.EXCEPTION);
    }
  }

  @Configuration
  @EnableTransactionManagement
  @EnableJpaRepositories(considerNestedRepositories = true)
  public static class Shop {
    @Bean
    LocalContainerEntityManagerFactoryBean entityManagerFactory() {
      LocalContainerEntityManagerFactoryBean factory = new LocalContainerEntityManagerFactoryBean();
      factory.setDataSource(new DriverManagerDataSource(System.getProperty("url")));
      factory.setManagedTypes(PersistenceManagedTypes.of(
          Order.class.getName(), Label.class.getName(), NewLabel.class.getName()));
      factory.setJpaVendorAdapter(new HibernateJpaVendorAdapter());
      factory.setJpaPropertyMap(Map.of("hibernate.hbm2ddl.auto", "create"));
      return factory;
    }

    @Bean
    PlatformTransactionManager transactionManager(EntityManagerFactory factory) {
      return new JpaTransactionManager(factory);
    }
  }

  public static void main(String[] args) {
    System.setProperty("url", args[0]);
    try (AnnotationConfigApplicationContext context =
        new AnnotationConfigApplicationContext(Shop.class)) {
      Orders orders = context.getBean(Orders.class);
      Labels labels = context.getBean(Labels.class);
      NewLabels newLabels = context.getBean(NewLabels.class);
      System.out.println(".");
      Scanner lines = new Scanner(System.in);
      while (lines.hasNextLine()) {
        String[] words = lines.nextLine().split(" ");
        for (int i = 1; i < words.length; i++) {
          Long id = Long.valueOf(words[i]);
          switch (words[0]) {
            case "=" -> orders.insert(given(id));
            case "insert" -> print(() -> {
              orders.insert(given(id));
              return id;
            });
            case "save" -> print(() -> orders.save(given(id)).id);
            case "saveAssigned" -> {
              Label label = new Label();
              label.id = id;
              print(() -> labels.save(label).id);
            }
            case "saveNew" -> {
              NewLabel label = new NewLabel();
              label.id = id;
              print(() -> newLabels.save(label).id);
            }
          }
        }
        if (words.length == 1)
          for (int i = Integer.parseInt(words[0]); i > 0; i--)
            System.out.println(orders.save(new Order()).id);
        System.out.println(".");
      }
    }
  }

  private static Order given(Long id) {
    Order order = new Order();
    order.id = id;
    return order;
  }

  /** Prints the id that a row gets, or the exception. */
  private static void print(Supplier<Long> save) {
    try {
      System.out.println(save.get());
    } catch (RuntimeException failure) {
      System.out.println(failure.getClass().getSimpleName());
    }
  }
}
